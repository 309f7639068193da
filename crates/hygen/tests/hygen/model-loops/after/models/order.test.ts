import { columns } from './order'

describe('Order', () => {
  it('has id', () => {
    expect(columns).toContain('id')
  })
  it('has title', () => {
    expect(columns).toContain('title')
  })
  it('has note', () => {
    expect(columns).toContain('note')
  })
})
