// ends: timeout
return { toJSON() { for (;;) {} } }
