// ends: runtime
return await import('fs')
