import React, { ,  } from 'react'

export interface BadgeProps {
  className?: string
}

export const Badge = ({ className }: BadgeProps) => {
  return (
    <div className={className} style={{ color: 'red' }}>
      {value}
    </div>
  )
}
