---
to: out/<%= h.changeCase.paramCase('__NAME__') %>.ts
---
export interface <%= h.changeCase.pascalCase('__NAME__') %> {
<% for (const field of fields) { -%>
<% if (field.optional) { -%>
  <%= h.changeCase.camelCase(field.name) %>?: <%= field.type %> | null;
<% } else { -%>
  <%= h.changeCase.camelCase(field.name) %>: <%= field.type %>;
<% } -%>
<% } -%>
}
