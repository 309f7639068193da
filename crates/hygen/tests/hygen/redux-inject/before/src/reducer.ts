import { combine } from 'redux'

export default (state, action) => {
  switch (action.type) {
    default:
      return state
  }
}
