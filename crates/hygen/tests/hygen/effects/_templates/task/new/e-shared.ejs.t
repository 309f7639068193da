---
to: scripts/LICENSE
from: task/shared/licence.txt
---
