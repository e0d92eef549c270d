#ifndef CAISSON_FUZZ_NETWORK_H
#define CAISSON_FUZZ_NETWORK_H

int far_end(int fd); /* what a program has of the guest's socket, or -1 */
void far_hang_up(int fd);
void call_in(void); /* a program connects to whichever listener looks first */

#endif
