---
to: src/components/<%= h.changeCase.pascal(name) %>/<%= h.changeCase.pascal(name) %>.tsx
---
<%
  const Component = h.changeCase.pascal(name)
  const hookNames = { state: 'useState', effect: 'useEffect' }
  const used = hooks.map(hook => hookNames[hook])
-%>
import React<% if (used.length) { %>, { <%= used.join(', ') %> }<% } %> from 'react'
<% if (styles !== 'none') { -%>
import styles from './<%= Component %>.module.<%= styles %>'
<% } -%>

export interface <%= Component %>Props {
  className?: string
}

export const <%= Component %> = ({ className }: <%= Component %>Props) => {
<% if (hooks.includes('state')) { -%>
  const [value, setValue] = useState('')
<% } -%>
<% if (hooks.includes('effect')) { -%>
  useEffect(() => {
    setValue('<%= h.changeCase.param(name) %>')
  }, [])
<% } -%>
  return (
    <div className={<%= styles !== 'none' ? 'styles.root' : 'className' %>} style={{ color: 'red' }}>
      {value}
    </div>
  )
}
