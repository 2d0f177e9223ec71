#!/usr/bin/env node
import { main } from './cli/main.ts';
import { endProcess } from './platform/end-process.ts';

endProcess(await main(process.argv.slice(2)));
