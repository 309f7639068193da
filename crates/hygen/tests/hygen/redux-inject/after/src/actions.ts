import { createAction } from 'x'

export const other = createAction('OTHER')
export const fetchUser = createAction('FETCH_USER')
