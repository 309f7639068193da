// Reducers
import { combine } from 'redux'
import { fetchUser } from './actions'

export default (state, action) => {
  switch (action.type) {
    case FETCH_USER:
      return { ...state, fetchUser: action.payload }
    default:
      return state
  }
}
