---
to: scripts/forced.txt
force: true
---
new <%= name %>
