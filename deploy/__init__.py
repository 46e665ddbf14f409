"""How the suite gets onto a machine: environment, engine build, bundle. Standard library only: it runs first."""
