// Import it before a program: the program's wall clock is CLOCK_OFFSET milliseconds off the
// machine's, and each SIGUSR2 sets it to the next of CLOCK_STEPS.
const steps = (process.env["CLOCK_STEPS"] ?? "").split(",").map(Number);
const realNow = Date.now.bind(Date);
let offset = Number(process.env["CLOCK_OFFSET"] ?? 0);

const now = (): number => realNow() + offset;

globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], made) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, made) as object,
  get: (target, name, receiver): unknown =>
    name === "now" ? now : Reflect.get(target, name, receiver),
});

process.on("SIGUSR2", () => {
  offset = steps.shift() ?? 0;
});
