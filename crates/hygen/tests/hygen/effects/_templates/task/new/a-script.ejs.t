---
to: scripts/<%= name %>.sh
sh: cat > scripts/<%= name %>.copy
---
#!/bin/sh
echo <%= name %>
