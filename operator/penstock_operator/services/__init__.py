"""What runs beside the handlers: health, and what it is judged by. Knows no kopf."""
