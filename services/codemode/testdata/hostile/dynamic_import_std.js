// ends: runtime
const m = await import('qjs:std'); return m.open('/etc/passwd', 'r')
