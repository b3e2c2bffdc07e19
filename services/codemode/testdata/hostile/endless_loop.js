// ends: timeout
while (true) {}
