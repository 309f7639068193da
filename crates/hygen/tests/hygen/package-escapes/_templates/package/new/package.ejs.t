---
to: packages/<%= name %>/package.json
---
{
  "name": "@<%= org %>/<%= name %>",
  "version": "0.0.0",
  "main": "{<%= name %>}.js",
  "author": "dev@<%= org %>.example"
}
