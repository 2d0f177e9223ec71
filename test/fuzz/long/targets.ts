import { DATAGRAMS } from './datagrams.ts';
import { DOCUMENT_TARGETS } from './documents.ts';
import { PACKET_TARGETS } from './packets.ts';
import { STREAMS } from './streams.ts';
import type { FuzzTarget } from './target.ts';
import { TEXTS } from './texts.ts';
import { TUNNELS } from './tunnels.ts';

/** Every parser and state machine that reads bytes of others. A new one is one line in its list. */
export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  ...STREAMS,
  ...TUNNELS,
  ...DATAGRAMS,
  ...PACKET_TARGETS,
  ...TEXTS,
  ...DOCUMENT_TARGETS,
];
