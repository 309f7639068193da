import { UserCard } from './UserCard'

export default { title: 'User-Card' }
