---
setup: <%= name %>
force: true # this is because mostly, people init into existing folders is safe
---
