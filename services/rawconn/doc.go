// Package rawconn reads and writes connections without announcing each system
// call to Go's scheduler. The announcement is for calls that may block: it lets
// the scheduler run something else meanwhile, and in a process with little to do
// it wakes a thread for that (runtime.sysmon), which costs more than reading what
// is there. Sockets of package net never block, so that there is nothing to
// announce. What the thread does besides is left to it by a Pace.
package rawconn
