import React, { useState, useEffect } from 'react'
import styles from './UserCard.module.css'

export interface UserCardProps {
  className?: string
}

export const UserCard = ({ className }: UserCardProps) => {
  const [value, setValue] = useState('')
  useEffect(() => {
    setValue('user-card')
  }, [])
  return (
    <div className={styles.root} style={{ color: 'red' }}>
      {value}
    </div>
  )
}
