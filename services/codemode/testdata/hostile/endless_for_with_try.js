// ends: timeout
for (;;) { try { for (;;) {} } catch {} finally { continue } }
