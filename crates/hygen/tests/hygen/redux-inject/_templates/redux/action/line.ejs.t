---
inject: true
to: src/list.txt
at_line: 1
eof_last: false
---
<%= Name %>, <%= names %>, <%= Names %>
