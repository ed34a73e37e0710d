from marin_chassis.stage import main
from marin_rl.setup import STAGE

if __name__ == "__main__":
    main(STAGE)
