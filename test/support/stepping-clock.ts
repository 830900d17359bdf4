// Import it before a program: each SIGUSR2 sets the program's wall clock to the next of
// CLOCK_STEPS, in milliseconds off the machine's clock.
const steps = (process.env["CLOCK_STEPS"] ?? "").split(",").map(Number);
const realNow = Date.now.bind(Date);
let offset = 0;

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
