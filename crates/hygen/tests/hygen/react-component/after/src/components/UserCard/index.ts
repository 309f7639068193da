export * from './UserCard'
