---
to: app/models/<%= h.inflection.underscore(h.changeCase.pascal(name)) %>.rb
---
class <%= h.inflection.camelize(h.changeCase.snake(name)) %> < ApplicationRecord
  self.table_name = '<%= h.inflection.tableize(h.changeCase.pascal(name)) %>'
  # <%= h.inflection.pluralize(name) %>, <%= h.inflection.singularize(names) %>, <%= h.changeCase.title(name) %>
  # <%= h.changeCase.sentence(name) %> <%= h.capitalize(name) %> <%= locals.missing %><%= typeof other === 'undefined' ? 'none' : other %>
  # <%= h.inflection.ordinalize('3') %> <%= h.changeCase.dot(name) %> <%= h.changeCase.path(name) %> <%= h.inflection.dasherize(h.changeCase.snake(name)) %>
end
