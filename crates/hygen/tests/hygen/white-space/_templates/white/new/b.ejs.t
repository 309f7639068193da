---
to: b.txt
---
<% if (on) { %>
<%= name %>
<% } %>

