// ends: timeout
for (;;) await null
