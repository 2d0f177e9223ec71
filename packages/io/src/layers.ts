/** Links around links. */
export { DecodedLink, GreetingLink } from './net/links/layered-links.ts';
export { PulledLink } from './net/links/pulled-link.ts';
export { FramedPackets, type PacketFraming } from './net/packets/packets.ts';
export { RepeatedDial } from './net/sockets/repeated-dial.ts';
