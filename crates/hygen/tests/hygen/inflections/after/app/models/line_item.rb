class LineItem < ApplicationRecord
  self.table_name = 'line_items'
  # line items, line item, Line Item
  # Line item Line item none
  # 3rd line.item line/item line-item
end
