/** Links around links. */
export { DecodedLink } from './net/links/decoded-link.ts';
export { GreetingLink } from './net/links/greeting-link.ts';
export { PulledLink } from './net/links/pulled-link.ts';
export { FramedPackets, type PacketFraming } from './net/packets/packets.ts';
export { RepeatedDial } from './net/sockets/repeated-dial.ts';
