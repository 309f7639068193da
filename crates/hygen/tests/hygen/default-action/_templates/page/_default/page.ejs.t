---
to: pages/<%= h.changeCase.kebab(name) %>.md
---
# <%= Name %>
