export interface Order {
  id: number; // 1
  title: string; // 2
  note?: string; // 3
}

export const columns = ['id', 'title', 'note', ]


export const idLabel = 'Id'

export const titleLabel = 'Title'

export const noteLabel = 'Note'

// 0: id
// 1: title
// 2: note
a = 1
b = 2
many fields
<% not a tag %>
