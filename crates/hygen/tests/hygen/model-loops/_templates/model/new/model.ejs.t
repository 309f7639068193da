---
to: models/<%= h.changeCase.snake(name) %>.ts
---
<% const parsed = fields.map(field => { return { name: field.split(':')[0], type: field.split(':')[1].replace('?', ''), optional: field.endsWith('?') } }) -%>
export interface <%= name %> {
<% parsed.forEach((field, i) => { -%>
  <%= field.name %><%= field.optional ? '?' : '' %>: <%= field.type %>; // <%= i + 1 %>
<% }) -%>
}

export const columns = [<% parsed.forEach(f => { %>'<%= f.name %>', <% }) %>]

<% for (const field of parsed) { %>
export const <%= field.name %>Label = '<%= h.inflection.humanize(field.name) %>'
<% } %>
<%_ for (let i = 0; i < parsed.length; i++) { _%>
// <%= i %>: <%= parsed[i].name %>
<%_ } _%>
<% Object.entries({ a: 1, b: 2 }).forEach(([key, value]) => { -%>
<%= key %> = <%= value %>
<% }) -%>
<% if (parsed.length > 2) { %>many<% } else if (parsed.length > 1) { %>some<% } else { %>few<% } %> fields
<%# nothing to see -%>
<%% not a tag %>
