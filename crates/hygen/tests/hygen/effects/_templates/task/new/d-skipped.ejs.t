---
to: scripts/skipped.txt
skip_if: <%= name === 'clean' %>
---
never
