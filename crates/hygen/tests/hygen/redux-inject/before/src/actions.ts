import { createAction } from 'x'

export const other = createAction('OTHER')
