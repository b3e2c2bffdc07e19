// ends: runtime memory
return JSON.parse('['.repeat(1e6))
