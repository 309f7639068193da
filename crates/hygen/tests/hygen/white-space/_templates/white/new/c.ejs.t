---
to: c.txt
---
<% if (on) { -%>
foo(<% if (name === 'x') { %>
  a,
<% } %>)
<% } -%>
<% [1, 2].forEach(n => { %><%= n %>
<% }) %>
end