---
to: a.txt
---


first
  <% if (on) { %>
    indented
  <% } %>
  <%_ if (on) { _%>
    slurped
  <%_ } else { _%>
    not this
  <%_ } _%>
	<% if (!on) { -%>
	no
	<% } else { -%>
	yes
	<% } -%>
last <%= name %>   
<%= name %>