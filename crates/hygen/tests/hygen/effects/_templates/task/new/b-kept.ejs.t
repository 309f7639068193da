---
to: scripts/kept.txt
unless_exists: true
---
new
