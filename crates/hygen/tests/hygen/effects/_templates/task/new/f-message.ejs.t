---
message: |
  {bold task <%= name %>} is there.
  Run it with {green scripts/<%= name %>.sh}
---
