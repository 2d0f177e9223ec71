import { configSchema, limitsSchema } from '@weir/config/json-schema';
import { expectOperands, optionLines, parseOptions, type CommandIo } from '../command.ts';
import { SCHEMA } from './specs.ts';

const SCHEMA_HELP = `Usage: weir schema [options]

Options:
${optionLines(SCHEMA.options)}
Prints a JSON Schema of the configuration file, for editors. With

    #:schema ./weir.schema.json

as the first line of a configuration, Tombi and Taplo complete its keys and mark mistakes.
`;

/** `weir schema`: prints the JSON Schema of the configuration. Resolves with the exit status. */
export async function schemaCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseOptions(argv, SCHEMA.options);
  expectOperands(SCHEMA.name, positionals);
  if (values.help === true) {
    io.stdout.write(SCHEMA_HELP);
    return 0;
  }
  const schema = values.limits === true ? limitsSchema() : await configSchema();
  io.stdout.write(`${JSON.stringify(schema, null, 2)}\n`);
  return 0;
}
