// ends: timeout
return { get a() { for (;;) {} } }
