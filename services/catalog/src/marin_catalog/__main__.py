"""``python -m marin_catalog``"""

from marin_catalog.setup import NAME, PORT, SERVICES, CatalogConfig, setup
from marin_chassis.server import run_service

if __name__ == "__main__":
    run_service(NAME, PORT, SERVICES, setup, CatalogConfig)
