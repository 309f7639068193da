---
to: packages/<%= name %>/index.edge
---
@if(user)
  {{ user.name }} <%= name %>  
@else
  {{-- <%= org %> --}}
@end
{<%= name %>}
