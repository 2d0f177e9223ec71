import { hysteria } from './hysteria.ts';
import type { Program, ProgramName } from './program.ts';
import { shadowsocksLibev } from './shadowsocks-libev.ts';
import { shadowsocksRust } from './shadowsocks-rust.ts';
import { singBox } from './sing-box.ts';
import { trojan } from './trojan.ts';
import { v2ray } from './v2ray.ts';
import { weirProgram } from './weir.ts';
import { xray } from './xray.ts';

/** Every program that stands at the ends of ways, in the order of the tables. */
export const PROGRAMS: Readonly<Record<ProgramName, Program>> = {
  weir: weirProgram(),
  v2ray,
  xray,
  'sing-box': singBox,
  trojan,
  'ss-libev': shadowsocksLibev,
  'ss-rust': shadowsocksRust,
  hysteria,
};
