---
to: parts/<%= name.toLowerCase() %>.md
---
<%- name + ' & <friends>' %>
<%= name ? '<b>' : '' %>
